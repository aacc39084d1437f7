"""Bent statements, quantities and bounds for Section 4 and Appendices B and C."""

import mutations_appendix_b
import mutations_appendix_c
import mutations_section_4

MUTATIONS = (
    mutations_section_4.MUTATIONS | mutations_appendix_b.MUTATIONS | mutations_appendix_c.MUTATIONS
)
