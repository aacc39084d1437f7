"""Documents from Markdown, as HTML and printed as PDF; pages that show data in one file."""

from argument_checks.wrong_types import errors_name_arguments
from documents.interactive import interactive_page, packaged
from documents.printing import check_target, html_page, write_document

__all__ = ["check_target", "html_page", "interactive_page", "packaged", "write_document"]

errors_name_arguments(globals())
