/** Claims a directory, reports it, and holds it until it is killed; for instance-lock.test.ts. */
import { claimInstance } from "../../../src/store/disk/instance-lock.ts";

claimInstance([process.argv[2] ?? ""]);
process.stdout.write("held\n");
setInterval(() => undefined, 60_000);
