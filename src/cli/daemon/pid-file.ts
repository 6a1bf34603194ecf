/** Writes a daemon's process id to its file, over the id of an earlier process. Removes the file at the end if it still holds this id. */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { SaltworksError } from "../../errors.ts";

const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants;
const mode = 0o644;

/** @returns the error if the file cannot be written. The daemon runs without it, because Salt's default directory belongs to root. */
export function writePidFile(path: string): Error | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeInto(path);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Writes in place, because the file can lie in root's directory and belong to the daemon's user. */
function writeInto(path: string): void {
  const descriptor = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, mode);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile() || status.nlink !== 1)
      throw new SaltworksError("STORE_FAILED", `${path} is not a regular file with one hard link`, { path });
    ftruncateSync(descriptor);
    writeSync(descriptor, `${process.pid}`);
  } finally {
    closeSync(descriptor);
  }
}

/** @returns the error if the file stays: a daemon that is no longer root may not remove it from root's directory. The next start writes over it. */
export function removePidFile(path: string): Error | undefined {
  try {
    if (readFileSync(path, "utf8").trim() === `${process.pid}`) unlinkSync(path);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
