// What the page fetched with the token becomes a file of the person who asked for it.

const UNSAFE = /[^A-Za-z0-9._-]+/g; // in a file's name, on any system

// Fetch `path` through `api` and hand it to the browser as `name`.`format`. Throws what the call throws.
export async function save(api, path, name, format) {
  const answer = await api.raw(path);
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = `${name.replace(UNSAFE, "-")}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000); // a browser may ask first where to put it
}
