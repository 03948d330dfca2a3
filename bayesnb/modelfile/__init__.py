"""Model files: what was specified and what was learned, as netCDF that any HDF5 reader opens, sealed with a digest.

``document`` says what a file holds, and reads and writes it. It stands on ``container`` (bytes, digest, memory), on
``values`` (names, priors and families as JSON) and on ``arrays`` (statistics as arrays).
"""
