// The controls of the settings of one pane.

import { clone, find, make } from "./dom.js";
import { DEFAULTS, GAP, LAST_STEP, PARTS, TICKS, epsOfStep, stepOfEps } from "./settings.js";

let forms = 0;

export class SettingsForm {
  #form;
  #eps;
  #shown;
  #usual; // the name of the default mapping
  #before = 0; // where the slider was
  #exact = null; // an eps from the address that is between two steps

  constructor(form, mappings, changed) {
    this.#form = form;
    form.append(clone("settings-template"));
    form.addEventListener("submit", (event) => event.preventDefault());
    this.#eps = find('input[type="range"]', form);
    this.#shown = find("output", form);
    const name = `eps-${(forms += 1)}`;
    this.#eps.id = name;
    find(".eps label", form).htmlFor = name;
    this.#eps.max = String(LAST_STEP);
    for (const [label, share] of TICKS) {
      const tick = make("span", {}, label);
      tick.style.insetInlineStart = `${100 * share}%`;
      find(".ticks", form).append(tick);
    }
    this.#usual = mappings[0]?.name;
    const select = this.#control("mapping");
    for (const [place, mapping] of mappings.entries()) {
      const label = `${mapping.name} (K = ${mapping.k})`;
      select.append(make("option", { value: place === 0 ? "" : mapping.name }, label));
    }
    this.#eps.addEventListener("input", () => {
      this.#exact = null;
      this.#leaveGap();
      this.#showEps();
    });
    form.addEventListener("input", () => changed());
  }

  get value() {
    const policy = { name: this.#control("policy").value };
    for (const part of PARTS) {
      if (this.#control(part).value) policy[part] = this.#control(part).value;
    }
    return {
      mapping: this.#control("mapping").value || null,
      eps: this.#exact ?? epsOfStep(Number(this.#eps.value)),
      plus: this.#control("plus").checked,
      calibration: this.#control("calibration").value,
      policy,
    };
  }

  set value(settings) {
    const step = stepOfEps(settings.eps);
    this.#eps.value = String(step);
    this.#before = step;
    this.#exact = epsOfStep(step) === settings.eps ? null : settings.eps;
    this.#control("mapping").value = settings.mapping === this.#usual ? "" : (settings.mapping ?? "");
    this.#control("plus").checked = settings.plus;
    this.#control("calibration").value = settings.calibration;
    this.#control("policy").value = settings.policy.name;
    for (const part of PARTS) this.#control(part).value = settings.policy[part] ?? "";
    const usual = settings.calibration === DEFAULTS.calibration && PARTS.every((part) => !settings.policy[part]);
    if (!usual) find("details", this.#form).open = true;
    this.#showEps();
  }

  #control(name) {
    return this.#form.elements.namedItem(name);
  }

  // Nothing is between eps = 0 and the least other one: the slider goes on to the end it was moved towards.
  #leaveGap() {
    const step = Number(this.#eps.value);
    if (step > 0 && step < GAP) this.#eps.value = String(step > this.#before ? GAP : 0);
    this.#before = Number(this.#eps.value);
  }

  #showEps() {
    const { eps } = this.value;
    this.#shown.textContent = eps === 0 ? "= 0: generalize" : `= ${eps}`;
    this.#eps.setAttribute("aria-valuetext", eps === 0 ? "0, generalize" : String(eps));
  }
}
