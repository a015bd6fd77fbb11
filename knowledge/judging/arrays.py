"""Named arrays in one file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np


def write_arrays(file: Path, arrays: dict[str, Any]) -> None:
    """Write named arrays as .npz, uncompressed; the same arrays give the same bytes.

    Inflating them would take 0.05 s at every start, and wheel, image and git compress them anyway.
    """
    # numpy.savez stamps the time into the archive; training twice must give the same bytes.
    with zipfile.ZipFile(file, "w") as archive:
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), buffer.getvalue())
