"""Model files: what was specified and what was learned, as a safetensors file with a digest.

``document`` says what a file holds, and reads and writes it. It stands on ``codec`` (data classes as JSON and arrays),
on ``container`` (their bytes, with a digest), and on ``checks`` (whether some rows can have led to what was read).
"""
