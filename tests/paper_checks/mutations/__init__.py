"""Ways to break each check, in a file named as the file of statements whose checks it breaks."""

from importlib import import_module
from pkgutil import iter_modules

# By the name of the file, then by the id of the statement.
FILES = {
    module.name: import_module(f"{__name__}.{module.name}").MUTATIONS
    for module in iter_modules(__path__)
}
MUTATIONS = {
    name: [mutation.within(f"paper_checks.statements.{file}") for mutation in mutations]
    for file, found in FILES.items()
    for name, mutations in found.items()
}
