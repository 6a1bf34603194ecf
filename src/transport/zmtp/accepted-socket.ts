/** An accepted connection that is read into one buffer of many connections: what is read is looked at before the next one is read. */
import { Socket } from "node:net";

/** Handles have no documented way to another Socket; where it is gone, the socket is read with a buffer a chunk, which costs more. */
type WithHandle = { _handle: object | null };

/**
 * @param accepted of a server with `pauseOnConnect`; use the returned socket in its place
 * @param onBytes gets what came, only valid during the call; false stops reading until `resume`
 */
export function readInto(buffer: Buffer, accepted: Socket, onBytes: (chunk: Buffer) => boolean): Socket {
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
  const callback = (bytes: number) => onBytes(buffer.subarray(0, bytes));
  return new Socket({ handle, onread: { buffer, callback } } as ConstructorParameters<typeof Socket>[0]);
}
