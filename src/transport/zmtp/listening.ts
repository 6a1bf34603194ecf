/** Makes a server listen at an address, or on a socket that listens already. */
import type { Server } from "node:net";

/** `port` 0 lets the system choose. `descriptor`: a socket that another part opened and that listens already. It is closed with the server. */
export type ListenOn = { readonly host: string; readonly port: number } | { readonly descriptor: number };

/** @throws Error with the `code` of the system call (EADDRINUSE, EADDRNOTAVAIL, EACCES) */
export function listenOn(server: Server, on: ListenOn, backlog: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    const onListening = () => {
      server.off("error", reject);
      resolve();
    };
    if ("descriptor" in on) server.listen({ fd: on.descriptor }, backlog, onListening);
    else server.listen({ ...on, backlog }, onListening);
  });
}

export function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
