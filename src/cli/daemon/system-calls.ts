/**
 * What daemons ask of Linux and Node.js has no function for, by way of koffi: datagrams to Unix sockets, limits.
 * Sources: unix(7), setrlimit(2), prctl(2). Loaded by the few places that need it, so that it costs others nothing.
 */
import { getSystemErrorName } from "node:util";
import koffi from "koffi";
import { SaltworksError } from "../../errors.ts";

/** Values of Linux on the machines that Node.js is built for. */
const unixFamily = 1;
const datagramSocket = 2;
const closeOnExec = 0o2_000_000;
const doNotWait = 0x40;
const noSignal = 0x4000;
const openFilesLimit = 7;
const setDumpable = 4;
/** Of an address of the kernel's: `struct sockaddr_un` has room for so many bytes of path. */
const unixPathBytesMax = 108;

const library = koffi.load(null);
const socket = library.func("int socket(int family, int type, int protocol)");
const sendto = library.func(
  "long sendto(int fd, const void *data, size_t bytes, int flags, const void *address, unsigned int addressBytes)",
);
const close = library.func("int close(int fd)");
const setrlimit = library.func("int setrlimit(int resource, const void *limits)");
const prctl = library.func("int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)");

/** Name of the error that the last call left, such as `ENOENT`. */
function lastError(): string {
  return getSystemErrorName(-koffi.errno());
}

function checked(result: number, what: string): number {
  if (result < 0) throw new SaltworksError("SYSTEM_REFUSED", `${what}: ${lastError()}`);
  return result;
}

/** As the machine holds it. */
const short = (value: number): Buffer => Buffer.from(Uint16Array.of(value).buffer);

/** `@name` is a name of Linux' abstract space. */
function unixAddress(path: string): Buffer {
  const name = path.startsWith("@") ? Buffer.from(`\0${path.slice(1)}`) : Buffer.from(`${path}\0`);
  if (name.length > unixPathBytesMax) throw new SaltworksError("CONFIG_INVALID", `${path} is too long for a socket`);
  return Buffer.concat([short(unixFamily), name]);
}

/** Sends datagrams to a Unix socket, which may come and go meanwhile. Never waits. */
export class UnixDatagrams {
  readonly #address: Buffer;
  readonly #descriptor: number;

  constructor(path: string) {
    this.#address = unixAddress(path);
    const kind = datagramSocket | closeOnExec;
    this.#descriptor = checked(socket(unixFamily, kind, 0), "a socket");
  }

  /** @returns the error's name where it was not taken: `EAGAIN` where the reader is behind, `ENOENT` or `ECONNREFUSED` where there is none */
  send(bytes: Uint8Array): string | undefined {
    const flags = doNotWait | noSignal;
    const sent = sendto(this.#descriptor, bytes, bytes.byteLength, flags, this.#address, this.#address.byteLength);
    return sent < 0 ? lastError() : undefined;
  }

  close(): void {
    close(this.#descriptor);
  }
}

/** Both limits of open files. @throws SaltworksError SYSTEM_REFUSED */
export function limitOpenFiles(count: number): void {
  const limits = Buffer.from(BigUint64Array.of(BigInt(count), BigInt(count)).buffer);
  checked(setrlimit(openFilesLimit, limits), `max_open_files: ${count}`);
}

/** A process that has changed its user may not look at itself in /proc, until it says that others of that user may look at it, too. */
export function allowOwnProcFiles(): void {
  checked(prctl(setDumpable, 1, 0, 0, 0), "PR_SET_DUMPABLE");
}
