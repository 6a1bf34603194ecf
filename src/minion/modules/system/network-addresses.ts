/** Execution module `network`: arithmetic with addresses and networks. */

import {
  formatAddress,
  isLoopback,
  isPrivate,
  lastAddressOf,
  netmaskOf,
  parseInterface,
  requireAddress,
  reverseName,
} from "../../../python/ipaddress.ts";
import { reprOf, strOf } from "../../../python/repr.ts";
import { pythonException } from "../../functions/errors.ts";
import { wholeNumber } from "../../functions/number-words.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";

export const addressFunctions: ModuleFunctions = {
  "network.calc_net": {
    ...signature("ip_addr, netmask=None"),
    doc: describe(
      "The network in which an address lies.",
      "network.calc_net 172.17.0.5 255.255.255.240",
      "network.calc_net 2a02:f6e:a000:80:84d8:8332:7866:4e07/64",
    ),
    run: (_, args) => {
      const mask = argument(args, "netmask");
      return requireInterface(strOf(argument(args, "ip_addr")) + (mask === null ? "" : `/${strOf(mask)}`)).network;
    },
  },
  "network.convert_cidr": {
    ...signature("cidr"),
    doc: describe("Network, netmask and broadcast address of a network.", "network.convert_cidr 172.31.0.0/16"),
    run: (_, args) => {
      const { parsed } = requireInterface(strOf(argument(args, "cidr")));
      return { network: formatAddress(parsed), netmask: netmaskOf(parsed), broadcast: lastAddressOf(parsed) };
    },
  },
  "network.is_private": {
    ...signature("ip_addr"),
    doc: describe("Whether an address is reserved for private use.", "network.is_private 10.0.0.3"),
    run: (_, args) => {
      const text = strOf(argument(args, "ip_addr"));
      return requireAddress(text) !== undefined && isPrivate(text);
    },
  },
  "network.is_loopback": {
    ...signature("ip_addr"),
    doc: describe("Whether an address is a loopback address.", "network.is_loopback 127.0.0.1"),
    run: (_, args) => {
      const text = strOf(argument(args, "ip_addr"));
      return requireAddress(text) !== undefined && isLoopback(text);
    },
  },
  "network.reverse_ip": {
    ...signature("ip_addr"),
    doc: describe("The DNS name for the reverse lookup of an address.", "network.reverse_ip 172.17.0.4"),
    run: (_, args) => reverseName(strOf(argument(args, "ip_addr"))),
  },
  "network.iphexval": {
    ...signature("ip"),
    doc: describe("An IPv4 address in hexadecimal digits.", "network.iphexval 10.0.0.1"),
    run: (_, args) => {
      const octets = strOf(argument(args, "ip")).split(".").map(wholeNumber);
      return octets.map((octet) => octet.toString(16).toUpperCase().padStart(2, "0")).join("");
    },
  },
};

function requireInterface(text: string) {
  const found = parseInterface(text);
  if (found !== undefined) return found;
  throw pythonException("ValueError", `${reprOf(text)} does not appear to be an IPv4 or IPv6 network`);
}
