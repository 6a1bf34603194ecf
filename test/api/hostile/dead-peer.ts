/** A connection whose other end is gone without a word, as after a loss of power: from `die` on its client's machine takes no packet. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import koffi from "koffi";

/** Linux's constants. */
const socketLevel = 1;
const attachFilterOption = 26;
/** The one instruction of a packet filter that takes nothing: return 0 bytes. */
const takeNothing = Buffer.from([6, 0, 0, 0, 0, 0, 0, 0]);

const setsockopt = koffi
  .load(null)
  .func("int setsockopt(int fd, int level, int name, const void *value, unsigned int bytes)");

export const canDie = process.platform === "linux";

export class MortalPeer {
  readonly socket: Socket;

  private constructor(socket: Socket) {
    this.socket = socket;
  }

  static async open(port: number): Promise<MortalPeer> {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return new MortalPeer(socket);
  }

  /** What the kernel sends for this end does not arrive any more, nor does anything that the other end sends. */
  die(): void {
    const { fd } = (this.socket as unknown as { readonly _handle: { readonly fd: number } })._handle;
    const program = Buffer.alloc(16);
    program.writeUInt16LE(takeNothing.length / 8, 0);
    program.writeBigUInt64LE(BigInt(koffi.address(takeNothing)), 8);
    if (setsockopt(fd, socketLevel, attachFilterOption, program, program.length) !== 0)
      throw new Error("the packet filter was not taken");
  }
}
