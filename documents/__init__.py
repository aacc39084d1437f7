"""Documents from Markdown: HTML pages, and PDF files printed by a browser."""

from argument_checks.wrong_types import errors_name_arguments
from documents.printing import check_target, html_page, write_document

__all__ = ["check_target", "html_page", "write_document"]

errors_name_arguments(globals())
