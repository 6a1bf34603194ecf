/** Opens a file of the operator's choice for appending, if it is a regular file. */
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

/** Without waiting, because opening a FIFO that no program reads would otherwise hold a thread of Node.js forever. */
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/** @throws Error of the file system; Error with a text for what is not a regular file */
export async function openRegularFile(path: string, newFileMode: number): Promise<FileHandle> {
  // Looked at before it is opened, because opening a device may do something.
  demandRegular(await statIfThere(path));
  const file = await open(path, appending, newFileMode);
  try {
    demandRegular(await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function statIfThere(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function demandRegular(facts: { isFile(): boolean } | undefined): void {
  if (facts?.isFile() === false) throw new Error("it is not a regular file");
}
