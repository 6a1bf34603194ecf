/** Whether a path lies below a directory, after all links are resolved. */
import { realpath } from "node:fs/promises";

/** Whether an existing path is `root` or lies below it, after all links are resolved. */
export async function isBelow(root: string, path: string): Promise<boolean> {
  const realRoot = await realpath(root);
  const realFile = await realpath(path);
  return realFile === realRoot || realFile.startsWith(realRoot === "/" ? realRoot : `${realRoot}/`);
}
