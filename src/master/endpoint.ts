/** Where the two ports are bound, and how connections of the publish port are kept alive, from Salt's options. */
import { networkInterfaces } from "node:os";
import { Publisher } from "zeromq";
import type { MasterConfig } from "../config/load.ts";

export type PortOptions = {
  /** `connection_buffer_bytes`. */
  readonly bufferBytes: number;
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
    bufferBytes: config.connection_buffer_bytes,
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

/** As ZeroMQ reads an interface: `*` is every address, and a network interface's name stands for its first IPv4 address. */
export function hostAddress(host: string): string {
  if (host === "*") return "0.0.0.0";
  return networkInterfaces()[host]?.find(({ family }) => family === "IPv4")?.address ?? host;
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

/** ZMQ_IN_BATCH_SIZE and ZMQ_OUT_BATCH_SIZE of libzmq's draft interface, which `zeromq` does not name. */
const batchSizeOptions = [101, 102] as const;
/** ZMQ_USE_FD: the socket binds to this descriptor, which listens already. */
const useDescriptorOption = 89;

/** A PUB whose connections keep `bufferBytes` each way; libzmq's own 8 KiB are most of what an idle connection costs. */
export class BufferedPublisher extends Publisher {
  setBufferBytes(bufferBytes: number): void {
    for (const option of batchSizeOptions) this.setInt32Option(option, bufferBytes);
  }

  useDescriptor(descriptor: number): void {
    this.setInt32Option(useDescriptorOption, descriptor);
  }
}
