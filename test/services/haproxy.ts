/** HAProxy as a balancer of TCP connections in front of several masters. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Program } from "../interop/program.ts";

const program = "/usr/sbin/haproxy";

/** For `skip` of a test that needs it: why it is skipped, or false. With CI=true nothing is skipped. */
export function haproxySkip(): string | false {
  return process.env.CI === "true" || existsSync(program) ? false : "haproxy is not installed";
}

/** Each connection to one of `ports` of 127.0.0.1 goes to the next of `hosts`, on the same port. A host that does not answer loses its connections. */
export function startHaproxy(folder: string, hosts: readonly string[], ports: readonly number[]): Program {
  const servers = (port: number) =>
    hosts.map((host, at) => `  server m${at} ${host}:${port} check inter 500 on-marked-down shutdown-sessions`);
  const lines = [
    "defaults",
    ...["  mode tcp", "  balance roundrobin", "  option redispatch", "  timeout connect 2s"],
    ...["  timeout client 1h", "  timeout server 1h"],
    ...ports.flatMap((port) => [`listen p${port}`, `  bind 127.0.0.1:${port}`, ...servers(port)]),
  ];
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, `${lines.join("\n")}\n`);
  return new Program("haproxy", program, ["-db", "-f", file]);
}
