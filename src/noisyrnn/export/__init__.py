"""Networks for other programs: ONNX, with batch and time left open, and one step of a stream."""
