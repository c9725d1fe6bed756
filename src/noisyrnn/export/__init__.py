"""Classifiers for other programs: ONNX, with batch and time left open, and one step of a stream."""

from noisyrnn.export.onnx import export_onnx, export_step

__all__ = ["export_onnx", "export_step"]
