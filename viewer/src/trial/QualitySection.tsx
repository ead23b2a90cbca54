// Ratings of a model, separate from the criteria, because they do not count.
import type { Quality } from "../data";
import { Coded } from "../parts/Coded";
import type { OpenTrial } from "../trial";
import { Linked } from "./Linked";

function Rating({ rating: { score, passed } }: { rating: Quality["ratings"][number] }) {
  if (score === null) return <>{passed === null ? "not rated" : passed ? "yes" : "no"}</>;
  return (
    <>
      <meter min={1} max={5} low={2.5} high={3.5} optimum={5} value={score} aria-hidden="true" />
      {` ${score} of 5`}
    </>
  );
}

export function QualitySection({ trial }: { trial: OpenTrial }) {
  const { quality } = trial.body;
  if (!quality) return null;
  return (
    <section class="quality">
      <div class="heading">
        <h3>Quality</h3>
        <span class="muted">not part of the verdict</span>
      </div>
      {quality.error && (
        <p class="muted">
          <Coded text={`Not rated: ${quality.error}`} />
        </p>
      )}
      {quality.ratings.length > 0 && (
        <table>
          <tbody>
            {quality.ratings.map((rating) => (
              <tr>
                <th scope="row">{rating.name.replaceAll("_", " ")}</th>
                <td class="number">
                  <Rating rating={rating} />
                </td>
                <td>
                  <Linked text={rating.reason} trial={trial} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {quality.summary && (
        <p>
          <Linked text={quality.summary} trial={trial} />
        </p>
      )}
      {quality.model && (
        <p class="assertion muted">
          Rated by <code>{quality.model}</code>
        </p>
      )}
    </section>
  );
}
