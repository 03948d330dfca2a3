"""A fitted model as one page to hand on: what was learned, how good it is, and where it is unsure.

Start with :func:`report`. ``page`` works out the sections once; ``html`` and ``markdown`` write them.
"""

from bayesnb.report.page import is_report as is_report
from bayesnb.report.page import report as report
from bayesnb.report.page import write as write
