/** A login that succeeds until it is to hang. */
import type { ApiHandlers } from "../../client/fake-master.ts";

export const loginUntil =
  (isHanging: () => boolean): ApiHandlers[string] =>
  () =>
    isHanging() ? undefined : { start: 1, expire: 4e9, name: "ann", eauth: "auto", token: "f" };
