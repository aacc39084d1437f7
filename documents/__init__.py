"""Documents from Markdown: HTML pages, and PDF files printed by a browser."""

from documents.printing import check_target, html_page, write_document

__all__ = ["check_target", "html_page", "write_document"]
