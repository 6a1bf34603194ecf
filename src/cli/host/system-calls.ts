/**
 * What daemons ask of Linux and Node.js has no function for, by way of koffi: datagrams to Unix sockets, ports that
 * another program part takes over, limits.
 * Sources: unix(7), ip(7), ipv6(7), setrlimit(2), prctl(2). Loaded by the few places that need it, so that it costs others nothing.
 */
import { getSystemErrorName } from "node:util";
import koffi from "koffi";
import { SaltworksError } from "../../errors.ts";
import type { IpAddress } from "../../python/ipaddress.ts";

/** Values of Linux on the machines that Node.js is built for. */
const unixFamily = 1;
const datagramSocket = 2;
const closeOnExec = 0o2_000_000;
const doNotWait = 0x40;
const noSignal = 0x4000;
const openFilesLimit = 7;
const setDumpable = 4;
const inet4Family = 2;
const inet6Family = 10;
const streamSocket = 1;
const socketLevel = 1;
const reuseAddress = 2;
/** Of an address of the kernel's: `struct sockaddr_un` has room for so many bytes of path. */
const unixPathBytesMax = 108;

const library = koffi.load(null);
const socket = library.func("int socket(int family, int type, int protocol)");
const sendto = library.func(
  "long sendto(int fd, const void *data, size_t bytes, int flags, const void *address, unsigned int addressBytes)",
);
const bind = library.func("int bind(int fd, const void *address, unsigned int addressBytes)");
const listen = library.func("int listen(int fd, int backlog)");
const setsockopt = library.func(
  "int setsockopt(int fd, int level, int option, const void *value, unsigned int valueBytes)",
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

/** `scope`: the number of the network interface to which a link-local address belongs. */
function inetAddress({ family, value }: IpAddress, port: number, scope: number): Buffer {
  const portBytes = Buffer.of(port >> 8, port & 0xff);
  const bytes = Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, "0"), "hex");
  if (family === 4) return Buffer.concat([short(inet4Family), portBytes, bytes, Buffer.alloc(8)]);
  const scopeBytes = Buffer.from(Uint32Array.of(scope).buffer);
  return Buffer.concat([short(inet6Family), portBytes, Buffer.alloc(4), bytes, scopeBytes]);
}

/** @returns a socket that listens, which belongs to the caller, or the system's name of what keeps it from listening */
export function listenAt(address: IpAddress, port: number, backlog: number, scope: number): number | string {
  const family = address.family === 4 ? inet4Family : inet6Family;
  const descriptor = socket(family, streamSocket | closeOnExec, 0);
  if (descriptor < 0) return lastError();
  const place = inetAddress(address, port, scope);
  const yes = Buffer.from(Int32Array.of(1).buffer);
  if (
    setsockopt(descriptor, socketLevel, reuseAddress, yes, yes.length) === 0 &&
    bind(descriptor, place, place.length) === 0 &&
    listen(descriptor, backlog) === 0
  )
    return descriptor;
  const name = lastError();
  close(descriptor);
  return name;
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
