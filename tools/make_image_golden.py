#!/usr/bin/env python3
"""Makes the pictures of tests/data/golden/images, and what Pillow decodes and resizes them to.

    python3 tools/make_image_golden.py tests/data/golden/images

Needs Pillow (11 or 12, which resize the width first) and numpy of PyPI, and jpegtran (libjpeg-turbo-progs). NAME.ppm or NAME.pgm beside NAME.png or NAME.jpg holds the decoded
pixels; resized.json says what was resized how, and the pixels that came out.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy
import PIL
from PIL import Image

if int(PIL.__version__.split(".")[0]) not in (11, 12):
    sys.exit(f"Pillow {PIL.__version__} may resize to other bits; install \"pillow>=11,<13\"")

HEIGHT, WIDTH = 11, 14


def drawn(channels, largest=255):
    y, x, c = numpy.meshgrid(range(HEIGHT), range(WIDTH), range(channels), indexing="ij")
    waves = numpy.sin(x * 0.7 + c) + numpy.cos(y * 0.9 - c * 0.5) + ((x * y) % 5 == 0)
    low, high = waves.min(), waves.max()
    return numpy.rint((waves - low) / (high - low) * largest)


def save(folder, name, image, **how):
    image.save(folder / name, **how)


def chunk(kind, data):
    body = kind + data
    return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def write_png(path, colour, depth, rows):
    """A PNG that Pillow does not write: colour type 0 grey, 2 RGB, 4 grey and alpha."""
    header = WIDTH.to_bytes(4, "big") + HEIGHT.to_bytes(4, "big") + bytes([depth, colour, 0, 0, 0])
    data = b"".join(b"\0" + row for row in rows)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunks)


def write_pictures(folder):
    grey, colours = drawn(1)[:, :, 0].astype("u1"), drawn(3).astype("u1")
    rgb = Image.fromarray(colours)
    save(folder, "grey.png", Image.fromarray(grey))
    save(folder, "rgb.png", rgb)
    save(folder, "palette.png", rgb.quantize(16))
    save(folder, "bits.png", Image.fromarray(grey > 100))
    save(folder, "grey.jpg", Image.fromarray(grey), quality=80)
    save(folder, "rgb.jpg", rgb, quality=80)  # colours at half the resolution
    save(folder, "progressive.jpg", rgb, quality=60, progressive=True)
    for name in ("grey", "rgb", "palette", "bits"):
        decode(folder, name, "png")
    for name in ("grey", "rgb", "progressive"):
        decode(folder, name, "jpg")
    wide = drawn(3, 65535).astype(">u2")
    write_png(folder / "wide.png", 2, 16, [row.tobytes() for row in wide])
    narrow = ((wide.astype("u4") * 255 + 32767) // 65535).astype("u1")
    Image.fromarray(narrow).save(folder / "wide.png.ppm")
    for name, alpha in (("opaque", 255), ("clear", 100)):
        cover = numpy.full((HEIGHT, WIDTH), 255, "u1")
        cover[3, 5] = alpha
        rows = numpy.stack([grey, cover], axis=2)
        write_png(folder / f"{name}.png", 4, 8, [row.tobytes() for row in rows])
    Image.fromarray(grey).save(folder / "opaque.png.pgm")


def decode(folder, name, kind):
    image = Image.open(folder / f"{name}.{kind}")
    grey = image.mode in ("L", "1")
    image.convert("L" if grey else "RGB").save(folder / f"{name}.{kind}.{'pgm' if grey else 'ppm'}")


def write_many_scans(folder):
    """rgb.jpg with 100 scans, as many as jpegtran makes."""
    lines = ["0,1,2: 0-0, 0, 0;"]
    lines += [f"{part}: {k}-{k}, 0, 0;" for part in range(3) for k in range(1, 33)]
    lines += [f"{part}: 33-63, 0, 0;" for part in range(3)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as script:
        script.write("\n".join(lines) + "\n")
        script.flush()
        command = ["jpegtran", "-scans", script.name, folder / "rgb.jpg"]
        (folder / "scans.jpg").write_bytes(
            subprocess.run(command, check=True, capture_output=True).stdout
        )


def resizings(folder):
    filters = {"area": Image.BOX, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
    rgb, made = Image.open(folder / "rgb.png"), []
    for how, number in filters.items():
        for height, width, box in [
            (11, 14, (0, 0, 14, 11)),
            (5, 6, (0, 0, 14, 11)),
            (22, 31, (0, 0, 14, 11)),
            (4, 14, (0, 0, 14, 11)),
            (7, 7, (1.25, 0.5, 12.75, 9.125)),
            (16, 3, (2, 3, 9, 5)),
        ]:
            pixels = numpy.array(rgb.resize((width, height), number, box))
            values = pixels.transpose(2, 0, 1).reshape(-1).tolist()
            made.append(
                {"how": how, "height": height, "width": width, "box": box, "values": values}
            )
    luma = numpy.array(rgb.convert("L")).reshape(-1).tolist()
    (folder / "resized.json").write_text(json.dumps({"resized": made, "luma": luma}) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_pictures(folder)
    write_many_scans(folder)
    resizings(folder)


if __name__ == "__main__":
    main()
