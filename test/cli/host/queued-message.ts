/** Loaded before a command: leaves a message in a ZeroMQ socket that no peer takes, and for which ZeroMQ waits as its module is unloaded. */
import { Request } from "zeromq";

const socket = new Request({ linger: 3_000 });
socket.connect("tcp://127.0.0.1:1");
await socket.send("not taken");
