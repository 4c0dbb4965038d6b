# A picture of the page, looked over by the browser itself.

import base64

from onscreen.window import Window

LOOK = """async (url) => {
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), {width: image.width, height: image.height});
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const counts = new Map();
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < data.length; at += 4 * 7) {
    const colour = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const [most] = [...counts].sort((one, other) => other[1] - one[1])[0];
  return [((most >> 16) + ((most >> 8) & 255) + (most & 255)) / 3, counts.size];
}"""


async def colours(window: Window, picture: bytes) -> tuple[float, int]:
    """How bright the commonest colour is (0 … 255), and how many there are."""
    url = "data:image/png;base64," + base64.b64encode(picture).decode()
    brightness, count = await window.page.evaluate(LOOK, url)
    return float(brightness), int(count)
