"""A fitted model as one page: what was learned, how good it is, and which rows are uncertain.

Start with :func:`report`. ``page`` chooses the sections and their order; ``scores``, ``columns``, ``rows`` and
``audit`` make them of ``parts``, also for the command line; ``writer`` (with ``templates`` and ``pictures``) writes
the page.
"""

from bayesnb.report.page import is_report as is_report
from bayesnb.report.page import report as report
from bayesnb.report.page import write as write
