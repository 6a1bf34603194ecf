/** Execution module `hosts`: the content of the hosts file. Source: Salt 3007's `hosts`, docs/functions.md. */
import { strOf } from "../../../python/repr.ts";
import type { Encodable, Value } from "../../../wire/values.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { readTextIfAny } from "../machine/file-error.ts";

type Host = { aliases: string[]; comment?: string };

export function hostsModule(hostsFile = "/etc/hosts"): ModuleFunctions {
  return {
    "hosts.list_hosts": {
      ...signature(""),
      doc: describe("The names of each address in the hosts file, and its comment lines.", "hosts.list_hosts"),
      run: () => new Map<Value, Encodable>(readHosts(hostsFile)),
    },
    "hosts.get_ip": {
      ...signature("host"),
      doc: describe("The address of a name, empty without one.", "hosts.get_ip web1"),
      run: (_, args) => {
        const wanted = strOf(argument(args, "host"));
        const found = [...readHosts(hostsFile)].find(
          ([, host]) => !Array.isArray(host) && host.aliases.includes(wanted),
        );
        return found?.[0] ?? "";
      },
    },
    "hosts.get_alias": {
      ...signature("ip"),
      doc: describe("The names of an address.", "hosts.get_alias 127.0.0.1"),
      run: (_, args) => aliasesOf(hostsFile, argument(args, "ip")),
    },
    "hosts.has_pair": {
      ...signature("ip, alias"),
      doc: describe("Whether an address has all of these names.", "hosts.has_pair 127.0.0.1 localhost"),
      run: (_, args) => {
        const alias = argument(args, "alias");
        const present = aliasesOf(hostsFile, argument(args, "ip"));
        return (Array.isArray(alias) ? alias : [alias]).every((one) => present.includes(strOf(one)));
      },
    },
  };
}

function aliasesOf(hostsFile: string, ip: Value): readonly string[] {
  const host = readHosts(hostsFile).get(strOf(ip));
  return host === undefined || Array.isArray(host) ? [] : host.aliases;
}

/** Entries by address; comment lines as `comment-0`, `comment-1`. Empty without the file. */
function readHosts(hostsFile: string): Map<string, Host | string[]> {
  const hosts = new Map<string, Host | string[]>();
  const text = readTextIfAny(hostsFile) ?? "";
  let comments = 0;
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") continue;
    if (line.startsWith("#")) {
      hosts.set(`comment-${comments}`, [line]);
      comments += 1;
      continue;
    }
    const [words = "", ...comment] = line.split("#");
    const [ip = "", ...aliases] = words.trim().split(/\s+/);
    const known = hosts.get(ip);
    const host = known === undefined || Array.isArray(known) ? { aliases: [] as string[] } : known;
    host.aliases.push(...aliases);
    hosts.set(ip, comment.length === 0 ? host : { ...host, comment: comment.join("#").trimStart() });
  }
  return hosts;
}
