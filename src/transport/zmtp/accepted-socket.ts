/** Reads an accepted connection into buffers that all connections share: each chunk is processed before the next is read. */
import { Socket } from "node:net";

/** Node.js has no documented way to move a handle to another Socket. Without a handle each chunk gets a buffer of its own, which costs more. */
type WithHandle = { _handle: object | null };

/**
 * @param nextBuffer gives the buffer of the next read
 * @param accepted of a server with `pauseOnConnect`; use the returned socket in its place
 * @param onBytes gets the bytes read, valid only during the call; false stops reading until `resume`
 */
export function readInto(nextBuffer: () => Buffer, accepted: Socket, onBytes: (chunk: Buffer) => boolean): Socket {
  const holder = accepted as unknown as WithHandle;
  const handle = holder._handle;
  if (handle === null || typeof handle !== "object") {
    accepted.on("data", (chunk: Buffer) => {
      if (!onBytes(chunk)) accepted.pause();
    });
    accepted.resume();
    return accepted;
  }
  holder._handle = null;
  accepted.destroy();
  const callback = (bytes: number, buffer: Uint8Array) => onBytes((buffer as Buffer).subarray(0, bytes));
  return new Socket({ handle, onread: { buffer: nextBuffer, callback } } as ConstructorParameters<typeof Socket>[0]);
}
