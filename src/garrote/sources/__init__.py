"""Data as people have them: files, PLINK genotypes, dask collections. Optional packages are imported when needed."""

from garrote.sources.tables import Table, read

__all__ = ["Table", "read"]
