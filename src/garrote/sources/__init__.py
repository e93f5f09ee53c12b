"""Data as people have them: files, PLINK genotypes, dask collections. Optional packages are imported when needed."""

from garrote.sources.tables import Source, read

__all__ = ["Source", "read"]
