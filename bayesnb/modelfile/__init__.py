"""Model files: specification and statistics in a safetensors file with a digest.

``document`` reads and writes the content, with ``codec`` (data classes as JSON and arrays), ``container`` (bytes and
digest) and ``checks`` (whether some rows can have produced it).
"""
