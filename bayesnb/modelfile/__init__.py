"""Model files: the specification and what was learned, as a safetensors file with a digest.

``document`` defines the content of a file, and reads and writes it. It uses ``codec`` (data classes as JSON and
arrays), ``container`` (their bytes, with a digest), and ``checks`` (whether some rows can have produced the content).
"""
