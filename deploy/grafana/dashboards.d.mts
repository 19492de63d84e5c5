/** The dashboards' tables, as tests read them. */
export const DASHBOARDS: Readonly<
  Record<
    string,
    {
      readonly title: string;
      readonly panels: readonly {
        readonly title: string;
        readonly unit: string;
        readonly targets: readonly (readonly [expr: string, legend: string])[];
      }[];
    }
  >
>;
/** File name beside this one and the text that it must have. */
export function written(): readonly (readonly [name: string, text: string])[];
