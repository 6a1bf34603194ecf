/** Runner `network`: wakes machines with a magic packet (Wake-on-LAN). Source: Salt 3007's runner of this name, observed. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { SaltworksError } from "../../errors.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf, targetArgument, textArgument } from "../contract/arguments.ts";
import { print, progress } from "../contract/caller-events.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";

/** Packets go to this address and port if the caller names no other. */
const everywhere = "255.255.255.255";
const discardPort = 9;
const portMax = 65_535;
/** Bound of a file of addresses. */
const addressesMax = 100_000;
const addressBytes = 6;
const copies = 16;

/** Six bytes, written as 12 hexadecimal digits or with one character between each two. */
function addressOf(text: string): Buffer {
  const digits = text.length === 17 ? text.replaceAll(text.charAt(2), "") : text;
  if (!/^[0-9a-f]{12}$/i.test(digits))
    throw new SaltworksError("FUNCTION_ARGUMENTS", `'${text}' is not a MAC address`, { name: "network.wol" });
  return Buffer.from(digits, "hex");
}

/** Sends a packet for each address. */
class Waker {
  readonly #to: string;
  readonly #port: number;

  constructor(args: ValueMap) {
    this.#to = textArgument(args, "bcast", everywhere);
    this.#port = Number(args.get("destport") ?? discardPort);
    if (!Number.isInteger(this.#port) || this.#port < 1 || this.#port > portMax)
      throw new SaltworksError("FUNCTION_ARGUMENTS", `destport must be a port from 1 to ${portMax}`, {
        name: "network.wol",
      });
  }

  async wake(address: string): Promise<void> {
    const target = addressOf(address);
    const packet = Buffer.concat([Buffer.alloc(addressBytes, 0xff), ...Array.from({ length: copies }, () => target)]);
    const socket = createSocket("udp4");
    try {
      socket.bind(0);
      await once(socket, "listening");
      socket.setBroadcast(true);
      await new Promise<void>((resolve, reject) =>
        socket.send(packet, this.#port, this.#to, (error) => (error === null ? resolve() : reject(error))),
      );
    } catch (error) {
      const text = `the packet for ${address} could not be sent to ${this.#to}:${this.#port}: ${(error as Error).message}`;
      throw new SaltworksError("FUNCTION_FAILED", text, { name: "network.wol" }, { cause: error });
    } finally {
      socket.close();
    }
  }
}

async function wakeListed(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const waker = new Waker(args);
  const woken: string[] = [];
  try {
    const lines = readFileSync(textArgument(args, "maclist"), "utf8").split("\n");
    if (lines.length > addressesMax)
      throw new SaltworksError(
        "FUNCTION_ARGUMENTS",
        `a list may have ${addressesMax} lines, and this one has more`,
        {},
      );
    for (const [index, line] of lines.entries()) {
      if (index === lines.length - 1 && line === "") break;
      const address = line.trim();
      await waker.wake(address);
      await print(context, `Waking up ${address}`);
      woken.push(address);
    }
  } catch (error) {
    // As in Salt, which answers so also if a line is not an address.
    await progress(context, { error: `Failed to open the MAC file. Error: ${(error as Error).message}` });
    return [];
  }
  return woken;
}

async function wakeMatched(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const waker = new Waker(args);
  const woken: string[] = [];
  for (const id of [...(await masterOf(context).match(targetArgument(args, "")))].sort()) {
    const stored = context.minions?.get(id)?.grains;
    const grains = stored === undefined ? undefined : decode(stored);
    const interfaces = grains instanceof Map ? grains.get("hwaddr_interfaces") : undefined;
    if (!(interfaces instanceof Map))
      throw new SaltworksError("FUNCTION_FAILED", `the grain hwaddr_interfaces of ${id} is not known`, { id });
    for (const [name, address] of interfaces) {
      if (name === "lo" || typeof address !== "string") continue;
      await waker.wake(address.trim());
      woken.push(address.trim());
    }
  }
  return woken;
}

export const networkRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "network.wol",
    {
      parameters: parametersOf("mac!", "bcast", "destport"),
      doc: "Sends a packet that wakes the machine with this MAC address, to the address `bcast`.",
      isOffline: true,
      run: async (_, args) => {
        await new Waker(args).wake(textArgument(args, "mac"));
        return true;
      },
    },
  ],
  [
    "network.wollist",
    {
      parameters: parametersOf("maclist!", "bcast", "destport"),
      doc: "Wakes the machines whose MAC addresses a file on the master lists, one a line.",
      isOffline: true,
      run: wakeListed,
    },
  ],
  [
    "network.wolmatch",
    {
      parameters: parametersOf("tgt!", "tgt_type", "bcast", "destport"),
      doc: "Wakes minions by the MAC addresses in the grains that the master keeps.",
      run: wakeMatched,
    },
  ],
]);
