/**
 * What a simulated minion answers, and the grains it tells.
 * Source: docs/protocol.md section 9 (returns, find_job).
 */
import { jidAt } from "../../src/wire/jid.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";
import { drawFrom, type Range } from "./minion-options.ts";
import type { Publish } from "./publish-reader.ts";

/** Jobs that a minion is working on, by jid. */
export type RunningJobs = Map<string, Publish>;

/** Functions without the configured delay, because a real minion answers them in its main process. */
export function isImmediate(fun: string): boolean {
  return fun.startsWith("saltutil.");
}

export function answerFunction(
  fun: string,
  arg: readonly Value[],
  running: RunningJobs,
  returnBytes: Range,
): Encodable {
  switch (fun) {
    case "test.ping":
      return true;
    case "test.echo":
      return arg[0] ?? "";
    case "saltutil.find_job": {
      const job = typeof arg[0] === "string" ? running.get(arg[0]) : undefined;
      return job === undefined ? {} : jobRecord(job);
    }
    case "saltutil.running":
      return [...running.values()].map(jobRecord);
    default:
      return "x".repeat(drawFrom(returnBytes));
  }
}

/** A running job's record: the publish's load without its serial, and a process id. */
function jobRecord(job: Publish): Value {
  const record = new Map(job.load);
  record.delete("serial");
  return record.set("pid", process.pid);
}

/** The load of a `_return`, members in Salt's order. */
export function returnLoad(
  id: string,
  job: Publish,
  running: RunningJobs,
  returnBytes: Range,
  retcode = 0,
): { readonly [key: string]: Encodable } {
  const { fun, arg } = job;
  const codeOf = (name: string) => (/^(?:test|saltutil)\./.test(name) ? 0 : retcode);
  const common = { jid: job.jid, fun, fun_args: arg, user: job.user, _stamp: stampNow() };
  if (typeof fun === "string") {
    const value = answerFunction(fun, arg, running, returnBytes);
    const code = codeOf(fun);
    return { cmd: "_return", id, success: code === 0, return: value, retcode: code, ...common };
  }
  const each = <Each extends Encodable>(make: (name: string, index: number) => Each): { [key: string]: Each } =>
    Object.fromEntries(fun.map((name, index) => [name, make(name, index)]));
  const value = each((name, index) => {
    const own = arg[index];
    return answerFunction(name, Array.isArray(own) ? own : [], running, returnBytes);
  });
  const codes = each(codeOf);
  const success = each((name) => codeOf(name) === 0);
  return { cmd: "_return", id, success, return: value, retcode: codes, ...common };
}

/** A UTC time with microseconds, in Python's form. */
export function stampNow(): string {
  const digits = jidAt(Date.now(), 0);
  const date = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6, 8)}`;
  return `${date}T${digits.slice(8, 10)}:${digits.slice(10, 12)}:${digits.slice(12, 14)}.${digits.slice(14)}`;
}

const systems = ["Debian", "Ubuntu", "RedHat", "SUSE"] as const;
const roles = ["web", "db", "cache", "queue", "build"] as const;

/** Grains that operators target by. They differ between minions and never change for one minion. */
export function grainsOf(id: string, index: number): Map<string, Value> {
  const address = `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
  const grains: [string, Value][] = [
    ["id", id],
    ["master", "127.0.0.1"],
    ["host", id],
    ["nodename", id],
    ["fqdn", `${id}.example.net`],
    ["domain", "example.net"],
    ["kernel", "Linux"],
    ["kernelrelease", "6.1.0"],
    ["os", systems[index % systems.length] ?? systems[0]],
    ["os_family", index % 4 < 2 ? "Debian" : "RedHat"],
    ["osarch", "amd64"],
    ["cpuarch", "x86_64"],
    ["num_cpus", 2 ** (index % 6)],
    ["mem_total", 1_024 * 2 ** (index % 8)],
    ["virtual", "kvm"],
    ["ipv4", ["127.0.0.1", address]],
    ["ipv6", ["::1"]],
    [
      "ip4_interfaces",
      new Map<Value, Value>([
        ["lo", ["127.0.0.1"]],
        ["eth0", [address]],
      ]),
    ],
    ["roles", [roles[index % roles.length] ?? roles[0]]],
    ["datacenter", `dc${index % 3}`],
    ["rack", `r${index % 40}`],
    ["init", "systemd"],
    ["saltversion", "3007.8"],
    ["pythonversion", [3, 10, 18, "final", 0]],
  ];
  return new Map(grains);
}
