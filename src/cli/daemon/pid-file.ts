/** The file with a daemon's process id: written once it is up over whatever an earlier process left, removed at the end if it is still ours. */
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

/** @returns the error where it cannot be written, which keeps no daemon from running: Salt's default place belongs to root */
export function writePidFile(path: string): Error | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeInto(path);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Not replaced: it may lie in root's directory and belong to the user whom root gave it to. */
function writeInto(path: string): void {
  const descriptor = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, mode);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile() || status.nlink !== 1)
      throw new SaltworksError("STORE_FAILED", `${path} is no file of its own`, { path });
    ftruncateSync(descriptor);
    writeSync(descriptor, `${process.pid}`);
  } finally {
    closeSync(descriptor);
  }
}

/** @returns the error where it stays: a daemon that gave root up may not remove what lies in root's directory, and the next start writes over it */
export function removePidFile(path: string): Error | undefined {
  try {
    if (readFileSync(path, "utf8").trim() === `${process.pid}`) unlinkSync(path);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
