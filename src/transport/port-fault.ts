/** Says in a sentence why a port cannot be opened, with the names of its options. Pure. */

/** `option` and `addressOption`: the names of the options for port and address. */
export type WantedPort = {
  readonly option: string;
  readonly addressOption: string;
  readonly host: string;
  readonly port: number;
};

export type PortFault = { readonly text: string; readonly errno: string };

/** @param errno why the port cannot be opened */
export function portFault(wanted: WantedPort, errno: string): PortFault {
  return { text: faultText(wanted, errno), errno };
}

function faultText({ option, addressOption, host, port }: WantedPort, errno: string): string {
  const place = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  switch (errno) {
    case "EADDRINUSE":
      return `${option}: ${place} is in use by another process (${errno})`;
    case "EADDRNOTAVAIL":
      return `${addressOption}: ${host} is not an address of this machine, so ${option} ${port} cannot be opened (${errno})`;
    case "EACCES":
      return `${option}: this user may not open ${place} (${errno})`;
    default:
      return `${option}: ${place} cannot be opened (${errno}); ${addressOption} must be an address of this machine`;
  }
}
