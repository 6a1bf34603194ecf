/** Execution module `network`: interfaces, addresses, names. Source: Salt 3007's `network`, docs/functions.md. */

import { hostname } from "node:os";
import {
  addressCountOf,
  formatAddress,
  isPrivate,
  netmaskOf,
  networkHoldsText,
  parseNetwork,
  requireAddress,
} from "../../../python/ipaddress.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import { type Encodable, intItem, type Value } from "../../../wire/values.ts";
import type { BoundArguments, CallContext, ModuleFunction } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { dottedHostName, reverseNames } from "../grains/network.ts";
import {
  type Interface,
  networksOf,
  readInterfaces,
  selectInterfaces,
  sortedAddresses,
} from "../machine/interfaces.ts";
import { addressFunctions } from "./network-addresses.ts";
import { connectionFunctions } from "./network-connections.ts";

const hwAddr = oneInterface(
  "The hardware address of an interface.",
  "network.hw_addr eth0",
  (face) => face.hwaddr ?? "",
);

const ipAddrs: ModuleFunction = {
  ...signature("interface=None, include_loopback=False, cidr=None, type=None"),
  pythonName: "ip_addrs",
  doc: describe(
    "The IPv4 addresses of this machine, of the named interfaces only, or within a network. `type` picks `public` or `private` ones.",
    "network.ip_addrs",
    "network.ip_addrs cidr=10.0.0.0/8",
  ),
  run: async (context, args) => {
    const addresses = await listAddresses(context, args, "inet");
    const type = argument(args, "type");
    if (isTrue(argument(args, "cidr")) || (type !== "public" && type !== "private")) return addresses;
    return addresses.filter((address) => isPrivate(address) === (type === "private"));
  },
};

const ipAddrs6: ModuleFunction = {
  ...signature("interface=None, include_loopback=False, cidr=None"),
  pythonName: "ip_addrs6",
  doc: describe("The IPv6 addresses of this machine, like network.ip_addrs.", "network.ip_addrs6"),
  run: (context, args) => listAddresses(context, args, "inet6"),
};

const interfaceFunctions: ModuleFunctions = {
  "network.interfaces": {
    ...signature(""),
    doc: describe("The interfaces of this machine with their addresses.", "network.interfaces"),
    run: () => readInterfaces(),
  },
  "network.interface": oneInterface(
    "The IPv4 addresses of an interface, in full.",
    "network.interface eth0",
    (face) => face.inet ?? "",
  ),
  "network.interface_ip": oneInterface(
    "The first IPv4 address of an interface.",
    "network.interface_ip eth0",
    (face) => face.inet?.[0]?.address ?? "",
  ),
  "network.hw_addr": hwAddr,
  "network.hwaddr": hwAddr,
  "network.ip_addrs": ipAddrs,
  "network.ipaddrs": ipAddrs,
  "network.ip_addrs6": ipAddrs6,
  "network.ipaddrs6": ipAddrs6,
  "network.subnets": {
    ...signature("interfaces=None"),
    doc: describe(
      "The IPv4 networks of this machine, or of the named interfaces.",
      "network.subnets",
      "network.subnets interfaces=eth1",
    ),
    run: async (_, args) => {
      const wanted = argument(args, "interfaces");
      const names = wanted === null ? undefined : (Array.isArray(wanted) ? wanted : [wanted]).map(strOf);
      const all = Array.from(await readInterfaces());
      const faces = all.filter(([name]) => names === undefined || names.includes(name)).map(([, face]) => face);
      return networksOf(faces, "inet", false);
    },
  },
  "network.subnets6": {
    ...signature(""),
    doc: describe("The IPv6 networks of this machine.", "network.subnets6"),
    run: async () => networksOf([...(await readInterfaces()).values()], "inet6", false),
  },
  "network.ip_networks": networksFunction(
    "inet",
    "The IPv4 networks of this machine; `verbose` tells more of each.",
    "ip_networks",
  ),
  "network.ip_networks6": networksFunction(
    "inet6",
    "The IPv6 networks of this machine; `verbose` tells more of each.",
    "ip_networks6",
  ),
  "network.in_subnet": {
    ...signature("cidr"),
    doc: describe("Whether this machine has an address in a network.", "network.in_subnet 10.0.0.0/16"),
    run: async (context, args) => {
      const faces = [...(await readInterfaces()).values()];
      const own = [...sortedAddresses(faces, "inet", false), ...sortedAddresses(faces, "inet6", false)];
      return holdsAny(context, strOf(argument(args, "cidr")), own);
    },
  },
  "network.ip_in_subnet": {
    ...signature("ip_addr, cidr"),
    doc: describe("Whether an address lies in a network.", "network.ip_in_subnet 172.17.0.4 172.16.0.0/12"),
    run: (context, args) => {
      const address = strOf(argument(args, "ip_addr"));
      return requireAddress(address) !== undefined && holdsAny(context, strOf(argument(args, "cidr")), [address]);
    },
  },
  "network.ifacestartswith": {
    ...signature("cidr"),
    doc: describe("The interfaces with an IPv4 address that begins with a text.", "network.ifacestartswith 10.0"),
    run: async (_, args) => {
      const start = strOf(argument(args, "cidr"));
      const entries = [...(await readInterfaces()).values()].flatMap((face) => face.inet ?? []);
      return entries.filter(({ address }) => address.startsWith(start)).map(({ label }) => label);
    },
  },
  "network.get_hostname": {
    ...signature(""),
    doc: describe("The name of this machine.", "network.get_hostname"),
    run: () => hostname(),
  },
  "network.get_fqdn": {
    ...signature(""),
    doc: describe("The name of this machine with its domain.", "network.get_fqdn"),
    run: () => dottedHostName(),
  },
  "network.fqdns": {
    ...signature(""),
    doc: describe("The names that the resolver has for this machine's addresses.", "network.fqdns"),
    run: async () => ({ fqdns: await reverseNames(await readInterfaces()) }),
  },
};

function oneInterface(text: string, example: string, value: (face: Interface) => Encodable): ModuleFunction {
  const name = /\.(\w+) /.exec(example)?.[1] ?? "";
  return {
    ...signature("iface"),
    pythonName: name,
    doc: describe(text, example),
    run: async (context, args) => {
      const wanted = strOf(argument(args, "iface"));
      const interfaces = await readInterfaces();
      const face = interfaces.get(wanted);
      if (face !== undefined) return value(face);
      const known = `Interface "${wanted}" not in available interfaces: "${[...interfaces.keys()].join('", "')}"`;
      context.log.error(known);
      return known;
    },
  };
}

async function listAddresses(context: CallContext, args: BoundArguments, kind: "inet" | "inet6"): Promise<string[]> {
  const faces = selectInterfaces(await readInterfaces(), argument(args, "interface"));
  const addresses = sortedAddresses(faces, kind, isTrue(argument(args, "include_loopback")));
  const cidr = argument(args, "cidr");
  return isTrue(cidr) ? addresses.filter((address) => holdsAny(context, strOf(cidr), [address])) : addresses;
}

/** Whether a network has one of the addresses. A text that is not a network, or has host bits set, is logged and has none. */
function holdsAny(context: CallContext, cidr: string, addresses: readonly string[]): boolean {
  const network = parseNetwork(cidr);
  if (network === undefined) {
    context.log.error(`Invalid CIDR '${cidr}'`);
    return false;
  }
  return addresses.some((text) => networkHoldsText(network, text));
}

function networksFunction(kind: "inet" | "inet6", text: string, name: string): ModuleFunction {
  return {
    ...signature("interface=None, include_loopback=False, verbose=False"),
    pythonName: name,
    doc: describe(text, `network.${name}`, `network.${name} interface=eth0 verbose=True`),
    run: async (_, args) => {
      const faces = selectInterfaces(await readInterfaces(), argument(args, "interface"));
      const networks = networksOf(faces, kind, isTrue(argument(args, "include_loopback")));
      return isTrue(argument(args, "verbose")) ? new Map(networks.map(inDetail)) : networks;
    },
  };
}

function inDetail(text: string): [Value, Encodable] {
  const network = parseNetwork(text);
  if (network === undefined) return [text, null];
  return [
    text,
    {
      address: formatAddress(network),
      netmask: netmaskOf(network),
      num_addresses: intItem(addressCountOf(network)),
      prefixlen: network.prefixBits,
    },
  ];
}

export const networkModule: ModuleFunctions = { ...interfaceFunctions, ...addressFunctions, ...connectionFunctions };
