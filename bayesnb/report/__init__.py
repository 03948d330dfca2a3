"""A fitted model as one page: what was learned, how good it is, and which rows are uncertain.

Start with :func:`report`. ``page`` makes the sections (``dependence``, ``labels`` and ``sets`` make parts of them);
``html`` and ``markdown`` write them.
"""

from bayesnb.report.page import is_report as is_report
from bayesnb.report.page import report as report
from bayesnb.report.page import write as write
