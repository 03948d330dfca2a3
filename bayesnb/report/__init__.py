"""A fitted model as one page: what was learned, how good it is, and which rows are uncertain.

Start with :func:`report`. ``page`` chooses the sections and their order; ``scores``, ``columns``, ``uncertain``,
``labels``, ``sets``, ``dependence``, ``checks`` and ``priors`` make them of ``parts``; ``html`` (with ``templates`` and
``pictures``) and ``markdown`` write them.
"""

from bayesnb.report.page import is_report as is_report
from bayesnb.report.page import report as report
from bayesnb.report.page import write as write
