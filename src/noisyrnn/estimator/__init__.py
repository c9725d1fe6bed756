"""For practitioners: classifiers of time series under scikit-learn's laws, and faults in training for any classifier.

>>> from noisyrnn.estimator import FaultTrained, NoisyRNNClassifier
"""

from noisyrnn.estimator.callbacks import TensorBoard
from noisyrnn.estimator.certificates import Certified
from noisyrnn.estimator.classifier import NoisyRNNClassifier
from noisyrnn.estimator.fault_trained import FaultTrained
from noisyrnn.estimator.robustness import Robustness
from noisyrnn.estimator.streaming import ClassifierStream

__all__ = ["Certified", "ClassifierStream", "FaultTrained", "NoisyRNNClassifier", "Robustness", "TensorBoard"]
