"""Model files: specification and statistics in a safetensors file with a digest.

``document`` reads and writes the content, ``codec`` converts data classes to JSON and arrays, ``container`` handles
bytes and digest, and ``checks`` validates the statistics.
"""
