/** Options of a tree of masters: lower masters below this one, and the master above it. */
import { kept, seconds } from "./details.ts";
import { boolean, integer, textOrList } from "./option.ts";

export const syndicOptions = {
  order_masters: boolean(
    false,
    "This master has lower masters: it takes returns and lists of minions from `salt-syndic`s, and its jobs wait for them. Any minion with an accepted key can then act as a syndic and return for any id, as in Salt. docs/syndic.md.",
  ),
  syndic_master: textOrList("masterofmasters", "The master above this one.", kept),
  syndic_wait: integer(
    5,
    "How long a job waits for lower masters to name its minions below (`order_masters`).",
    seconds,
  ),
  syndic_forward_all_events: boolean(false, "Pass every event to the master above.", kept),
};
