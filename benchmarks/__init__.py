"""What is claimed of speed and calibration, as programs."""
