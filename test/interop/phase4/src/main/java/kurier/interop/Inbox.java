package kurier.interop;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import com.helger.json.IJsonArray;
import com.helger.json.JsonArray;
import com.helger.json.IJsonObject;

/** What the receiver has taken, in the order of arrival, and the participants that it serves in a special way. */
final class Inbox
{
  /** The one participant that this access point does not serve. */
  static final String NOT_SERVED = "0245:4040404040";
  /** The inbox fails at the first try to put a document of this participant into it. */
  private static final String UNLUCKY = "iso6523-actorid-upis::0245:5050505050";
  /** Messages kept; a run of the matrix has some tens. */
  private static final int MAX = 1_000;
  private static final List <IJsonObject> TAKEN = new ArrayList <> ();

  private static final Set <String> FAILED = new HashSet <> ();

  /** @throws IllegalStateException when the document cannot be taken now */
  static synchronized void add (final IJsonObject message)
  {
    if (UNLUCKY.equals (message.getAsString ("receiver")) && FAILED.size () < MAX && FAILED.add (message.getAsString ("instanceId")))
      throw new IllegalStateException ("the inbox is away");
    if (TAKEN.size () >= MAX)
      throw new IllegalStateException ("the inbox is full");
    TAKEN.add (message);
  }

  static synchronized IJsonArray all ()
  {
    final JsonArray all = new JsonArray ();
    TAKEN.forEach (all::add);
    return all;
  }

  private Inbox ()
  {}
}
