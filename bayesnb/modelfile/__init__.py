"""Model files: specification and statistics in a safetensors file with a digest."""
