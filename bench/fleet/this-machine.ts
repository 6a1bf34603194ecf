/** Which hosts are this machine, whose limits and processes the bench knows. */
import { hostname, networkInterfaces } from "node:os";

/** `host`: a name or an address. Names other than the machine's own and `localhost` count as others. */
export function isThisMachine(host: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address }) => address),
  );
  return ["localhost", hostname(), ...own].includes(host) || host.startsWith("127.");
}
