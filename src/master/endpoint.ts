/** Where the two ports are bound and how their connections are kept alive: the same for both, from Salt's options. */
import type { MasterConfig } from "../config/load.ts";

export type PortOptions = {
  readonly backlog: number;
  readonly keepalive: {
    readonly isOn: boolean;
    readonly idleSeconds: number;
    readonly count: number;
    readonly intervalSeconds: number;
  };
};

export function portOptions(config: MasterConfig): PortOptions {
  return {
    backlog: config.zmq_backlog,
    keepalive: {
      isOn: config.tcp_keepalive,
      idleSeconds: config.tcp_keepalive_idle,
      count: config.tcp_keepalive_cnt,
      intervalSeconds: config.tcp_keepalive_intvl,
    },
  };
}

/** Interface and port as ZeroMQ writes them; port 0 lets the system choose. */
export function endpointOf(host: string, port: number): string {
  const address = host.includes(":") ? `[${host}]` : host;
  return `tcp://${address}:${port === 0 ? "*" : port}`;
}

/** The options of a ZeroMQ socket that say so. */
export function socketOptions({ backlog, keepalive }: PortOptions) {
  return {
    backlog,
    tcpKeepalive: keepalive.isOn ? 1 : 0,
    tcpKeepaliveIdle: keepalive.idleSeconds,
    tcpKeepaliveCount: keepalive.count,
    tcpKeepaliveInterval: keepalive.intervalSeconds,
  };
}
