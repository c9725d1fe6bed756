"""Any classifier of series in, one page out: sensor faults at severities, attacks, certificates (``noisyrnn.audit``).

>>> from noisyrnn.auditing.budget import budget
>>> budget("standard").radii
(0.05, 0.1, 0.2, 0.4)
"""

from noisyrnn.auditing.audit_result import Audit
from noisyrnn.auditing.conducting import audit
from noisyrnn.auditing.findings import AttackCurve, Cell, Certificate, Difference, Figure, Report

__all__ = ["AttackCurve", "Audit", "Cell", "Certificate", "Difference", "Figure", "Report", "audit"]
